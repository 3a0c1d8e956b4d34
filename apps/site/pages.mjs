// The pages of the site: the source file of each. The sidebar and the links between pages use it.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** Sources by section: files of the repository, or folders whose Markdown files are pages, README.md first. */
const SECTIONS = [
  [
    'Guide',
    ['getting_started', 'weights', 'train', 'streams', 'browsers_and_workers', 'gpus', 'cluster'].map(
      (name) => `docs/guide/${name}.md`,
    ),
  ],
  ['Migration', ['docs/migration']],
  ['Cookbook', ['docs/cookbook']],
  [
    'Concepts',
    [
      'docs/architecture.md',
      'docs/canonical_layout.md',
      'docs/ctc.md',
      'docs/distributed.md',
      'docs/streams.md',
      'docs/wasm.md',
      'docs/numerics.md',
      'docs/checkpoint_format.md',
      'docs/reliability.md',
      'docs/tf_compatibility.md',
      'docs/glossary.md',
    ],
  ],
  [
    'Reference',
    [
      'docs/where_it_runs.md',
      'docs/errors.md',
      'docs/optimizer_rules.md',
      'docs/troubleshooting.md',
      'apps/cli/README.md',
      'apps/playground/README.md',
      'docs/examples.md',
      'docs/gpu/README.md',
    ],
  ],
  ['Benchmarks', ['docs/bench/README.md', 'apps/bench/README.md']],
  [
    'Development',
    [
      'CONTRIBUTING.md',
      'SECURITY.md',
      'docs/native_boundary.md',
      'docs/code_measures.md',
      'docs/releasing.md',
      'docs/decisions',
    ],
  ],
]

/** `[{ section, pages: [{ title, source, page }] }]`; sources that are absent are left out. */
export function sitePages(root) {
  return SECTIONS.map(([section, sources]) => ({
    section,
    pages: sources.flatMap((source) => expand(root, source)).map((file) => describe(root, file)),
  }))
}

function expand(root, source) {
  if (source.endsWith('.md')) return [source].filter((file) => title(root, file) !== undefined)
  const files = readdirSync(join(root, source))
    .filter((name) => name.endsWith('.md'))
    .sort((a, b) => Number(b === 'README.md') - Number(a === 'README.md') || a.localeCompare(b))
  return files.map((name) => `${source}/${name}`)
}

function describe(root, source) {
  const page = source.replace(/^docs\//, '').replace(/README\.md$/, 'index.md')
  return { title: title(root, source), source, page }
}

function title(root, source) {
  try {
    return /^# (.*)$/m.exec(readFileSync(join(root, source), 'utf8'))?.[1] ?? basename(source)
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}
