// Links and anchors of a built site.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { Parser } from 'htmlparser2'

const HOST = 'http://site.invalid'

/**
 * Links of the HTML files below a folder that lead to no file or to no element, as `page: link` with the reason. Links to other
 * hosts are not followed. `/guide/` is `guide/index.html`, `/guide/train` is `guide/train.html`.
 */
export function brokenLinks(folder) {
  const pages = new Map(htmlFiles(folder).map((file) => [file, linksAndIds(readFileSync(join(folder, file), 'utf8'))]))
  return [...pages].flatMap(([page, { links }]) =>
    [...links].flatMap((link) => {
      const reason = reasonOf(folder, pages, page, link)
      return reason === undefined ? [] : [`${page}: ${link}: ${reason}`]
    }),
  )
}

function reasonOf(folder, pages, page, link) {
  const url = URL.canParse(link, `${HOST}/${page}`) ? new URL(link, `${HOST}/${page}`) : undefined
  if (url === undefined) return 'not a URL'
  if (url.origin !== HOST) return undefined
  const file = fileOf(folder, pages, decodeURIComponent(url.pathname).slice(1))
  if (file === undefined) return 'no such page'
  const id = decodeURIComponent(url.hash.slice(1))
  if (id === '' || !pages.has(file) || pages.get(file).ids.has(id)) return undefined
  return 'no such anchor'
}

/** The file that a server of clean URLs answers with. */
function fileOf(folder, pages, path) {
  if (path === '' || path.endsWith('/')) return pages.has(`${path}index.html`) ? `${path}index.html` : undefined
  if (pages.has(`${path}.html`)) return `${path}.html`
  return pages.has(path) || existsSync(join(folder, path)) ? path : undefined
}

function linksAndIds(html) {
  const links = new Set()
  const ids = new Set()
  const parser = new Parser({
    onopentag(name, { id, href, src }) {
      if (id !== undefined) ids.add(id)
      if (name === 'a' && href !== undefined) links.add(href)
      if ((name === 'img' || name === 'script') && src !== undefined) links.add(src)
    },
  })
  parser.end(html)
  return { links, ids }
}

function htmlFiles(folder) {
  return readdirSync(folder, { recursive: true })
    .map((file) => file.split(sep).join(posix.sep))
    .filter((file) => file.endsWith('.html'))
    .sort()
}
