/** Finds the program `iolite` for this machine: a package of its own has it, as with other tools whose core is native. */

/** The machines for which `make dist` makes a package. */
const MACHINES: readonly string[] = ["linux-x64"];

export interface Machine {
  readonly platform: string;
  readonly arch: string;
  /** The file of a package that is installed. Throws if it is not. */
  resolve(file: string): string;
}

/** The path of the program. Throws an error that says what to do if there is none. */
export function programOf({ platform, arch, resolve }: Machine): string {
  const machine = `${platform}-${arch}`;
  if (!MACHINES.includes(machine)) {
    throw new Error(`@iolite/cli has no program for ${machine}, only for ${MACHINES.join(", ")}: build it from source by \`make server\` in the repository of Iolite`);
  }
  const name = `@iolite/cli-${machine}`;
  try {
    return resolve(`${name}/bin/iolite`);
  } catch (cause) {
    throw new Error(`${name} is not installed beside @iolite/cli: install it too, and without \`--omit=optional\``, { cause });
  }
}
