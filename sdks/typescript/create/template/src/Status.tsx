import { useClient, useConnectionState, usePending, useRefused } from "@iolite/react";

/** How this device stands to the server, and how much it has still to send. */
export function Status() {
  const { status, message } = useConnectionState();
  const waiting = usePending().length;
  const words = { online: "Online", connecting: "Connecting", offline: "Offline", refused: "Refused" }[status];
  return (
    <p className="status" data-status={status} role="status">
      {words}
      {waiting > 0 && `, ${waiting} waiting`}
      {status === "refused" && `: ${message}`}
    </p>
  );
}

/** The list of refused mutations. Each stays until somebody has seen it, over reloads too. */
export function Refused() {
  const client = useClient();
  return (
    <div role="alert">
      {useRefused().map(({ id, reason }) => (
        <p key={id} className="refused">
          <span>{reason}</span>
          <button onClick={() => client.dismiss(id)}>All right</button>
        </p>
      ))}
    </div>
  );
}
