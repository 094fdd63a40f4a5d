/** The photos: thumbnails first, and the one that was chosen. */

import type { BlobValue, Id } from "@iolite/client";
import { useMutation, useReactive } from "@iolite/react";
import { useEffect, useRef, useState } from "react";

import { usePicture } from "./usePicture";

interface Photo {
  readonly id: Id;
  readonly name: string;
  readonly type: string;
  readonly photo: BlobValue;
  readonly thumbnail: BlobValue;
}

export function Photos() {
  const { data: photos } = useReactive((tx) => tx.photos.orderBy("at").limit(200).all(), []);
  const [chosen, choose] = useState<Id>();
  const open = photos?.find(({ id }) => id === chosen);
  if (photos?.length === 0) {
    return <p className="empty">No photos yet. Add one: it shows here at once, also without a network.</p>;
  }
  return (
    <>
      <ul className="photos">
        {[...(photos ?? [])].reverse().map((photo) => (
          <li key={photo.id}>
            <Thumbnail photo={photo} onOpen={() => choose(photo.id)} />
          </li>
        ))}
      </ul>
      {open !== undefined && <Viewer key={open.id} photo={open} onClose={() => choose(undefined)} />}
    </>
  );
}

function Thumbnail({ photo, onOpen }: { photo: Photo; onOpen: () => void }) {
  const { url, problem } = usePicture(photo.thumbnail, "image/jpeg");
  return (
    <button className="thumbnail" onClick={onOpen} title={problem ?? photo.name}>
      {url === undefined ? <span>{problem === undefined ? "…" : "not here"}</span> : <img src={url} alt={photo.name} />}
    </button>
  );
}

function Viewer({ photo, onClose }: { photo: Photo; onClose: () => void }) {
  const { url, problem } = usePicture(photo.photo, photo.type);
  const remove = useMutation("remove");
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="viewer" onClose={onClose} aria-label={photo.name}>
      {url !== undefined && <img src={url} alt={photo.name} data-bytes={photo.photo.length} />}
      {url === undefined && <p role="status">{problem ?? "The photo is being fetched …"}</p>}
      <footer>
        <span>
          {photo.name}, {Math.ceil(photo.photo.length / 1024).toLocaleString("en")} KiB
        </span>
        <button onClick={() => remove({ id: photo.id })}>Delete</button>
        <button onClick={() => dialog.current?.close()}>Close</button>
      </footer>
    </dialog>
  );
}
