// `npm run site`: copies the repository's Markdown into content/, generates the API reference, and builds the site into
// .vitepress/dist. A link to a file that does not exist fails the build.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { changelogPage } from './changelog.mjs'
import { sitePages } from './pages.mjs'

const site = fileURLToPath(new URL('.', import.meta.url))
const root = join(site, '../..')
const content = join(site, 'content')
const REPOSITORY = 'https://github.com/cudnn-rnn/cudnn-rnn/blob/main'

rmSync(content, { recursive: true, force: true })
mkdirSync(content)
const pages = sitePages(root).flatMap((section) => section.pages)
const pageOf = new Map(pages.map(({ source, page }) => [source, page]))

const broken = []
for (const { source, page } of pages) {
  const file = join(content, page)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, withSiteLinks(source, page, readFileSync(join(root, source), 'utf8')))
}
writeFileSync(join(content, 'index.md'), readFileSync(join(site, 'home.md')))
writeFileSync(join(content, 'changelog.md'), changelogPage(root))
mkdirSync(join(content, 'public'))
const benchmarks = 'docs/bench/results'
cpSync(join(root, benchmarks), join(content, 'public/bench/results'), { recursive: true })

if (broken.length > 0) {
  console.error(`Broken links:\n${broken.join('\n')}`)
  process.exit(1)
}
run('typedoc', ['--options', join(site, 'typedoc.json')])
run('vitepress', ['build', site])

/** Links to pages of the site stay inside it; links to other files of the repository lead to its host. */
function withSiteLinks(source, page, markdown) {
  return markdown.replaceAll(/(\]\()([^)\s]+)(\))/g, (link, open, target, close) => {
    if (/^([a-z]+:|#)/.test(target)) return link
    const [path, anchor] = target.split('#')
    const file = posix.normalize(posix.join(posix.dirname(source), path)).replace(/\/$/, '')
    const suffix = anchor === undefined ? '' : `#${anchor}`
    const inside = pageOf.get(file) ?? pageOf.get(`${file}/README.md`)
    if (inside !== undefined) return `${open}${relativePage(page, inside)}${suffix}${close}`
    if (!existsSync(join(root, file))) {
      broken.push(`${source}: ${target}`)
      return link
    }
    return `${open}${REPOSITORY}/${file}${suffix}${close}`
  })
}

function relativePage(from, to) {
  const path = posix.relative(posix.dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}

function run(command, args) {
  const { status } = spawnSync(join(root, 'apps/site/node_modules/.bin', command), args, {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(status ?? 1)
}
