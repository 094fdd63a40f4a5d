/** Says how to see that a page is shared: by a second window. */

import { useRoute } from "./useRoute";

export function SecondWindow() {
  const route = useRoute("");
  return (
    <p className="second-window">
      <a href={`#/${encodeURIComponent(route)}`} target="_blank" rel="noreferrer">
        Open this in a second window
      </a>
      : what is done in one shows in both. A private window, or another browser, is somebody else.
    </p>
  );
}
