/** One of the app's mutators. */

import { useClient } from "./provider.js";
import type { RegisteredClient } from "./register.js";

type RegisteredMutate = RegisteredClient["mutate"];

/** The mutator of this name, the same function at every render: `const move = useMutation("move")`, then `move({ id, x, y })`. */
export function useMutation<N extends keyof RegisteredMutate>(name: N): RegisteredMutate[N] {
  return useClient().mutate[name];
}
