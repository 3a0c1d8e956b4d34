import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'
import { optionalBuiltinsInVite } from '../../scripts/build/optional_builtins.js'
import { sourceAliases } from '../../scripts/testing/vitest_aliases.js'

/** The page from the packages' sources: no package has to be built before it. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  plugins: [optionalBuiltinsInVite(), serviceWorker()],
  resolve: { alias: sourceAliases },
  worker: { format: 'es', plugins: () => [optionalBuiltinsInVite()] },
  build: { target: 'es2023', chunkSizeWarningLimit: 4000, emptyOutDir: true },
})

/** Writes a service worker that keeps every file of the build: the page then works without a network. */
function serviceWorker(): Plugin {
  return {
    name: 'service-worker',
    apply: 'build',
    enforce: 'post',
    generateBundle(_, bundle) {
      const names = Object.keys(bundle).sort()
      const hash = createHash('sha256')
      for (const name of names) {
        const file = bundle[name]
        hash.update(name)
        if (file !== undefined) hash.update(file.type === 'chunk' ? file.code : file.source)
      }
      const cache = `playground-${hash.digest('hex').slice(0, 16)}`
      this.emitFile({ type: 'asset', fileName: 'service_worker.js', source: program(cache, ['./', ...names]) })
    },
  }
}

function program(cache: string, files: readonly string[]): string {
  return `const CACHE = ${JSON.stringify(cache)}
const FILES = ${JSON.stringify(files)}
addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)).then(() => skipWaiting()))
})
addEventListener('activate', (event) => {
  const old = (name) => name.startsWith('playground-') && name !== CACHE
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name)))).then(() => clients.claim()))
})
addEventListener('fetch', (event) => {
  event.respondWith(caches.match(event.request).then((kept) => kept ?? fetch(event.request)))
})
`
}
