/** The album: adds photos, and shows them. */

import { useClient, useMutation, usePending } from "@iolite/react";
import { NetworkSwitch, Refusals, SyncChip } from "examples-page";
import { useState } from "react";

import { Photos } from "./Photos";
import { thumbnailOf } from "./thumbnail";

export function App() {
  return (
    <div className="page">
      <header>
        <h1>Album</h1>
        <div className="corner">
          <SyncChip />
          <NetworkSwitch />
        </div>
        <Refusals words={(name) => ({ add: "add a photo", remove: "delete a photo" })[name] ?? name} />
      </header>
      <main>
        <AddPhotos />
        <Photos />
        <small>Open this page in a private window, or in another browser: both show one album.</small>
      </main>
    </div>
  );
}

function AddPhotos() {
  const client = useClient();
  const add = useMutation("add");
  const [problem, tell] = useState<string>();
  const [isOver, setOver] = useState(false);
  // Looked at again with each call that waits.
  const waits = usePending().length > 0 ? client.blobs.waiting : undefined;
  const take = async (files: Iterable<File>): Promise<void> => {
    tell(undefined);
    for (const file of files) {
      try {
        const [photo, thumbnail] = [await client.blobs.put(file), await client.blobs.put(await thumbnailOf(file))];
        add({ name: file.name, type: file.type, photo, thumbnail });
      } catch (error) {
        tell(`${file.name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  };
  return (
    <div
      className="add"
      data-over={isOver}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take([...event.dataTransfer.files]);
      }}
    >
      <label className="button">
        Add photos
        <input
          type="file"
          accept="image/*"
          multiple
          onChange={({ target }) => {
            void take([...(target.files ?? [])]).finally(() => (target.value = ""));
          }}
        />
      </label>
      <small>or drop them here</small>
      {problem !== undefined && <p role="alert">{problem}</p>}
      {waits !== undefined && <p role="status">Photos wait to be sent: {waits}</p>}
    </div>
  );
}
