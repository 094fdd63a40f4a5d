/** The accounts of a vault that a row has. They are read when they are first wanted; until then those before them are shown. */

import type { BlobValue } from "@iolite/client";
import { useClient, useConnectionState } from "@iolite/react";
import { useEffect, useState } from "react";

import type { Account } from "../account";
import { unpacked } from "./content";

interface Content {
  readonly accounts?: readonly Account[];
  readonly problem?: string;
}

/** `row` is undefined until it is known whether there is one. */
export function useContent(row: { readonly content: BlobValue | undefined } | undefined): Content {
  const client = useClient();
  const isOnline = useConnectionState().status === "online";
  const [content, show] = useState<Content>({});
  useEffect(() => {
    let isOver = false;
    const reading = row?.content === undefined ? Promise.resolve([]) : client.blobs.open(row.content).bytes().then(unpacked);
    if (row !== undefined) {
      reading.then(
        (accounts) => !isOver && show({ accounts }),
        (error: unknown) => !isOver && show((shown) => ({ ...shown, problem: String(error) })),
      );
    }
    return () => {
      isOver = true;
    };
    // A blob never changes, and its digest names it. What is not on this device can be read once there is a connection.
  }, [client, row === undefined, row?.content?.digest, isOnline]);
  return content;
}
