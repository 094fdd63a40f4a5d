/** A page that has nothing to show yet says why. */

export function Notice({ title, text }: { title: string; text: string }) {
  return (
    <main className="notice">
      <div role="status">
        <h1>{title}</h1>
        <p>{text}</p>
      </div>
    </main>
  );
}
