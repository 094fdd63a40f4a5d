/** A page tells its connection, what waits, and what was refused. */

import { useClient, useConnectionState, usePending, useRefused } from "@iolite/react";

import "./register.js";

export function Status() {
  const { status, message } = useConnectionState();
  const waiting = usePending().length;
  return (
    <p role="status">
      {status === "online" ? "Saved everywhere" : "Working on this device"}
      {waiting > 0 && `, ${waiting} to be sent`}
      {message !== undefined && `. ${message}`}
    </p>
  );
}

export function Refused() {
  const client = useClient();
  return (
    <ul aria-label="Not done" aria-live="assertive">
      {useRefused().map(({ id, name, reason }) => (
        <li key={id}>
          {name}: {reason} <button onClick={() => client.dismiss(id)}>Dismiss</button>
        </li>
      ))}
    </ul>
  );
}
