/**
 * Calls back with the next frame of a page.
 *
 * Invariant: it calls back once, also where no frame comes: in a hidden page, in one that is hidden before its frame, and in one that is drawn seldom.
 */

/** How long a frame of a page that is seen is waited for. */
const FRAME_LATE_MS = 100;

/** `soon`: calls back in a task that hidden pages do not hold back. */
export function nextFrame(callback: () => void, soon: (callback: () => void) => void): void {
  if (document.visibilityState === "hidden") {
    return soon(callback);
  }
  const call = (): void => {
    cancelAnimationFrame(frame);
    clearTimeout(late);
    document.removeEventListener("visibilitychange", call);
    callback();
  };
  const frame = requestAnimationFrame(call);
  const late = setTimeout(call, FRAME_LATE_MS);
  document.addEventListener("visibilitychange", call);
}
