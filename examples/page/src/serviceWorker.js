/**
 * Keeps the page on this device, so that it opens without a server. `APP`, `VERSION` and `FILES` are filled in by vite.config.ts.
 * The page itself and the server's answer for development are asked for first. All files that are kept are of one version, the page
 * too: one from the network may be newer, and would name files that are not here.
 */

const APP = "__APP__";
const VERSION = "__VERSION__";
const FILES = ["__FILES__"];

const CACHE = `${APP}-${VERSION}`;
const CONFIG = "/iolite.json";

self.addEventListener("install", (event) => {
  event.waitUntil(install());
});

async function install() {
  const cache = await caches.open(CACHE);
  await cache.addAll(["/", CONFIG, ...FILES].map((file) => new Request(file, { cache: "reload" })));
  await self.skipWaiting();
}

self.addEventListener("activate", (event) => {
  event.waitUntil(activate());
});

async function activate() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(`${APP}-`) && name !== CACHE).map((name) => caches.delete(name)));
  await self.clients.claim();
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== self.location.origin) {
    return;
  }
  if (request.mode === "navigate" && url.pathname === "/") {
    event.respondWith(networkFirst(request, "/"));
  } else if (url.pathname === CONFIG) {
    event.respondWith(networkFirst(request, CONFIG));
  } else if (FILES.includes(url.pathname)) {
    event.respondWith(cacheFirst(request));
  }
});

async function networkFirst(request, key) {
  const cache = await caches.open(CACHE);
  try {
    const response = await fetch(request);
    if (response.ok) {
      if (key === CONFIG) {
        await cache.put(key, response.clone());
      }
      return response;
    }
    return (await cache.match(key)) ?? response;
  } catch (error) {
    const kept = await cache.match(key);
    if (kept) {
      return kept;
    }
    throw error;
  }
}

async function cacheFirst(request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(request)) ?? fetch(request);
}
