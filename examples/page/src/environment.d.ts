/** Tells TypeScript what Vite lets a page import: styles, pictures, workers. */
/// <reference types="vite/client" />
