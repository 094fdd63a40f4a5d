/** The oldest Node that the packages run in. */

const OLDEST = [20, 19] as const;

/** The message for a person with an older one; nothing for the others. */
export function tooOld(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  return isOld ? `Iolite needs Node ${OLDEST.join(".")} or later, and this is ${version}: install a newer one from https://nodejs.org` : undefined;
}
