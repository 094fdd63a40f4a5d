/** The address of a picture that a row has, for `<img>`. It is fetched when it is first wanted. */

import type { BlobValue } from "@iolite/client";
import { useClient } from "@iolite/react";
import { useEffect, useState } from "react";

export interface Picture {
  readonly url?: string;
  readonly problem?: string;
}

export function usePicture(blob: BlobValue, type: string): Picture {
  const client = useClient();
  const [picture, show] = useState<Picture>({});
  useEffect(() => {
    let url: string | undefined;
    let isOver = false;
    client.blobs
      .open(blob)
      .url(type)
      .then(
        (made) => {
          url = made;
          if (isOver) {
            URL.revokeObjectURL(made);
          } else {
            show({ url: made });
          }
        },
        (error: unknown) => !isOver && show({ problem: error instanceof Error ? error.message : String(error) }),
      );
    return () => {
      isOver = true;
      if (url !== undefined) {
        URL.revokeObjectURL(url);
      }
    };
    // A blob never changes, and its digest names it.
  }, [client, blob.digest, type]);
  return picture;
}
