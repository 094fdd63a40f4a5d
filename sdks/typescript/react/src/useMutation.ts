/** One of the app's mutators. */

import { noClient, useClientIfAny } from "./provider.js";
import type { RegisteredClient } from "./register.js";

type RegisteredMutate = RegisteredClient["mutate"];

/**
 * The mutator of this name, the same function at every render: `const move = useMutation("move")`, then `move({ id, x, y })`. Without a client it throws when
 * it is called.
 */
export function useMutation<N extends keyof RegisteredMutate>(name: N): RegisteredMutate[N] {
  const client = useClientIfAny();
  return client === undefined ? (callNothing as unknown as RegisteredMutate[N]) : client.mutate[name];
}

function callNothing(): never {
  throw noClient();
}
