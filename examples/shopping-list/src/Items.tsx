import { CheckBox, TextBox, useMutation, useReactive } from "@iolite/react";

export function Items({ who, me }: { who: string; me: string }) {
  const { data: items = [] } = useReactive((tx) => tx.items.orderBy("bought").orderBy("at").limit(100).all(), []);
  const take = useMutation("take");
  return (
    <ul>
      {items.map(({ id, taker }) => (
        <li key={id}>
          <CheckBox aria-label="Bought" bind={(live) => live.items(id).bought} deps={[id]} />
          <TextBox aria-label="What" bind={(live) => live.items(id).what} deps={[id]} />
          {taker === "" ? <button onClick={() => take({ id, who, me })}>I get it</button> : taker}
        </li>
      ))}
    </ul>
  );
}
