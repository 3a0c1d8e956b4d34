// An npm registry of packed packages on the loopback interface: the part of one that `npm install` uses.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { basename } from 'node:path'

/** Serves the packages in `tarballs` (paths of .tgz files), one version each; resolves to { url, close }. */
export async function openRegistry(tarballs) {
  const files = new Map(tarballs.map((path) => [basename(path), readFileSync(path)]))
  const documents = new Map()
  const server = createServer(({ url }, response) => {
    const path = decodeURIComponent(url.slice(1))
    const body = files.get(path) ?? documents.get(path)
    response.statusCode = body === undefined ? 404 : 200
    response.end(body ?? '{}')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${server.address().port}/`
  for (const [file, content] of files) {
    const manifest = JSON.parse(execFileSync('tar', ['xzOf', '-', 'package/package.json'], { input: content }))
    const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`
    const { name, version } = manifest
    const versions = { [version]: { ...manifest, dist: { tarball: origin + file, integrity } } }
    documents.set(name, JSON.stringify({ name, 'dist-tags': { latest: version }, versions }))
  }
  return { url: origin, close: () => server.close() }
}
