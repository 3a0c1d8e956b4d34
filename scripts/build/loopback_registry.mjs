// An npm registry on the loopback interface: the part of one that `npm publish` and the installers use.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * Serves the packages in `tarballs` (paths of .tgz files), and those that are published to it; resolves to { url, close }. A
 * program does not wait for it at its end.
 */
export async function openRegistry(tarballs) {
  const files = new Map()
  const documents = new Map()
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(request.url.slice(1).replace(/\?.*/, ''))
    const send = (status, body) => {
      response.statusCode = status
      response.end(body)
    }
    if (request.method === 'PUT') return send(...publish(path, JSON.parse(await textOf(request))))
    const document = documents.get(path)
    if (document !== undefined) return send(200, JSON.stringify(document))
    return files.has(path) ? send(200, files.get(path)) : send(404, '{}')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  const url = `http://127.0.0.1:${server.address().port}/`

  function add(manifest, content, tag) {
    const { name, version } = manifest
    const path = `${name}/-/${name.replace(/.*\//, '')}-${version}.tgz`
    const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`
    const document = documents.get(name) ?? { name, 'dist-tags': { latest: version }, versions: {}, time: {} }
    // Yarn installs no version that is younger than a day.
    document.time[version] = '2020-01-01T00:00:00.000Z'
    document.versions[version] = { ...manifest, dist: { tarball: url + path, integrity } }
    document['dist-tags'][tag] = version
    documents.set(name, document)
    files.set(path, content)
  }
  /** Status and text of the answer. */
  function publish(name, { versions, 'dist-tags': tags, _attachments }) {
    const [[version, manifest]] = Object.entries(versions)
    if (documents.get(name)?.versions[version] !== undefined) return [403, '{ "error": "the version is published" }']
    const [{ data }] = Object.values(_attachments)
    add(manifest, Buffer.from(data, 'base64'), Object.keys(tags)[0])
    return [201, '{}']
  }
  for (const tarball of tarballs) add(manifestOf(tarball), readFileSync(tarball), 'latest')
  return { url, close: () => server.close() }
}

/** The manifest of a packed package. */
export const manifestOf = (tarball) =>
  JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }))

async function textOf(stream) {
  let text = ''
  for await (const part of stream.setEncoding('utf8')) text += part
  return text
}
