/** A layout effect where there is a page. React 18 warns of one where it renders for a server. */

import { useEffect, useLayoutEffect } from "react";

export const usePageEffect = typeof document === "undefined" ? useEffect : useLayoutEffect;
