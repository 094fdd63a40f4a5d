import { useClient, useMutation, useReactive } from "@iolite/react";

export function Ideas({ who, isChosen }: { who: string; isChosen: boolean }) {
  const client = useClient();
  const choose = useMutation("choose");
  // Runs again whenever what it read has changed, always on one snapshot.
  const { data: ideas = [], isLoading, isUnavailable } = useReactive((tx) => tx.ideas.orderBy("at").limit(100).all(), []);
  if (isUnavailable) {
    return <p>The list is not on this device yet, and there is no connection.</p>;
  }
  if (ideas.length === 0) {
    return <p className="soft">{isLoading ? "Loading…" : "No ideas yet. Yours is the first."}</p>;
  }
  return (
    <ul>
      {ideas.map(({ id, text, likes }) => (
        <li key={id}>
          <span className="text">{text}</span>
          <button aria-label={`Like ${text}, liked ${likes} times`} onClick={() => client.live.ideas(id).likes.increment()}>
            ♥ {likes}
          </button>
          {!isChosen && (
            <button aria-label={`Choose ${text}`} onClick={() => choose({ id, who: who.trim() || "Somebody" })}>
              Choose
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
