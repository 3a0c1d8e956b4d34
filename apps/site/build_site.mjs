// `npm run site`: copies the repository's Markdown into content/, generates the API reference, and builds the site into
// .vitepress/dist. A link to a file or an anchor that does not exist fails the build.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { apiIndex } from './api_index.mjs'
import { withCharts } from './bench/bench_charts.mjs'
import { brokenLinks } from './built_links.mjs'
import { changelogPage } from './changelog.mjs'
import { sitePages } from './pages.mjs'

const site = fileURLToPath(new URL('.', import.meta.url))
const root = join(site, '../..')
const content = join(site, 'content')
const benchmarks = 'docs/bench/results'
const REPOSITORY = 'https://github.com/cudnn-rnn/cudnn-rnn'

rmSync(content, { recursive: true, force: true })
mkdirSync(content)
const pages = sitePages(root).flatMap((section) => section.pages)
const pageOf = new Map(pages.map(({ source, page }) => [source, page]))

const broken = []
for (const { source, page } of pages) {
  const file = join(content, page)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, withSiteLinks(source, page, textOf(source)))
}
writeFileSync(join(content, 'index.md'), homePage())
writeFileSync(join(content, 'changelog.md'), changelogPage(root))
mkdirSync(join(content, 'public'))
cpSync(join(root, benchmarks), join(content, 'public/bench/results'), { recursive: true })

if (broken.length > 0) {
  console.error(`Broken links:\n${broken.join('\n')}`)
  process.exit(1)
}
run('typedoc', ['--options', join(site, 'typedoc.json')])
writeFileSync(join(content, 'api/index.md'), apiIndex(root))
run('vitepress', ['build', site])
const brokenAnchors = brokenLinks(join(site, '.vitepress/dist'))
if (brokenAnchors.length > 0) {
  console.error(`Broken links:\n${brokenAnchors.join('\n')}`)
  process.exit(1)
}

/** The Markdown of a source without marks of scripts; pages of docs/bench get their charts. */
function textOf(source) {
  const markdown = readFileSync(join(root, source), 'utf8')
    .replace(/<!-- calculator -->\n.*/, '```chart\n<SizeCalculator />\n```')
    .replaceAll(/^<!--.*-->\n/gm, '')
  const [, benchmark] = /^docs\/bench\/(\w+)\.md$/.exec(source) ?? []
  const text = benchmark === undefined ? markdown : withCharts(root, benchmark, markdown)
  // Two columns of code, and tables of measurements, take the space of the outline.
  return /^docs\/(bench|migration)\//.test(source) ? `---\naside: false\n---\n${text}` : text
}

/** The home page with the README's example. */
function homePage() {
  const [example] = /^```ts\n[\s\S]*?^```$/m.exec(readFileSync(join(root, 'README.md'), 'utf8'))
  return readFileSync(join(site, 'home.md'), 'utf8').replace('{{ example }}', () => example)
}

/** Links to pages of the site stay inside it; links to other files of the repository lead to its host. */
function withSiteLinks(source, page, markdown) {
  return markdown.replaceAll(/(\]\()([^)\s]+)(\))/g, (link, open, target, close) => {
    if (/^([a-z]+:|#)/.test(target)) return link
    const [path, anchor] = target.split('#')
    const file = posix.normalize(posix.join(posix.dirname(source), path)).replace(/\/$/, '')
    const suffix = anchor === undefined ? '' : `#${anchor}`
    const inside = pageOf.get(file) ?? pageOf.get(`${file}/README.md`)
    if (inside !== undefined) return `${open}${relativePage(page, inside)}${suffix}${close}`
    // Results are copied as they are, outside of the pages.
    if (file.startsWith(`${benchmarks}/`)) return `${open}/${file.slice('docs/'.length)}${close}{target="_self"}`
    if (!existsSync(join(root, file))) {
      broken.push(`${source}: ${target}`)
      return link
    }
    const kind = statSync(join(root, file)).isDirectory() ? 'tree' : 'blob'
    return `${open}${REPOSITORY}/${kind}/main/${file}${suffix}${close}`
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
