/** Who hears what cannot be written. */

export type OnError = (error: Error) => void;

/** Without anybody who wants to hear it, an error is one of the page that nobody caught, as those of the client's callbacks are. */
export function tell(onError: OnError | undefined, write: () => unknown): void {
  try {
    write();
  } catch (error) {
    if (onError !== undefined) {
      return onError(error as Error);
    }
    queueMicrotask(() => {
      throw error;
    });
  }
}
