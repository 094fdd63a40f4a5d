/** A page tells somebody whom the server does not take, and signs them out. */

import { IoliteError } from "@iolite/client";
import { useClient, useConnectionState, usePending } from "@iolite/react";
import { useState } from "react";

import "./register.js";

export function SignInAgain() {
  const { refusal, message } = useConnectionState();
  const waiting = usePending().length;
  switch (refusal) {
    case "unauthorized":
      return (
        <p role="alert">
          {message} {waiting > 0 && `${waiting} changes wait on this device.`} <a href="/sign-in">Sign in</a>
        </p>
      );
    case "other-user":
      return (
        <p role="alert">
          This device has the data of somebody else. <a href="/sign-in">Sign in as before</a>, or remove it: <SignOut />
        </p>
      );
    default:
      return null;
  }
}

export function SignOut() {
  const client = useClient();
  const [isPending, setPending] = useState(false);
  async function signOut(discard: boolean): Promise<void> {
    try {
      await client.signOut(discard ? { discard } : {});
      location.assign("/sign-in");
    } catch (error) {
      setPending(error instanceof IoliteError && error.code === "pending");
    }
  }
  if (isPending) {
    return <button onClick={() => signOut(true)}>Sign out, and lose what was not sent</button>;
  }
  return <button onClick={() => signOut(false)}>Sign out</button>;
}
