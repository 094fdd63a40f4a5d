import "./style.css";

import { IoliteProvider } from "@iolite/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { Board } from "./Board";
import { openClient } from "./client";

const root = createRoot(document.getElementById("root")!);

openClient().then(
  (client) =>
    root.render(
      <StrictMode>
        <IoliteProvider client={client}>
          <Board />
        </IoliteProvider>
      </StrictMode>,
    ),
  (error: Error) => root.render(<p role="alert">The app cannot start: {error.message}</p>),
);
