/** Lets the service worker keep the page on this device. Only in builds: during development Vite serves the files. */

export function registerServiceWorker(): void {
  if (import.meta.env.PROD && "serviceWorker" in navigator) {
    navigator.serviceWorker.register("/service-worker.js").catch((error: unknown) => {
      console.warn("the page works, but not without a server:", error);
    });
  }
}
