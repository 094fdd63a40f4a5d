/** Tells the hooks the type of the client. */

import type { TasksClient } from "./model.js";

declare module "@iolite/react" {
  interface Register {
    client: TasksClient;
  }
}
