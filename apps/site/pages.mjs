// The pages of the site: the source file of each. The sidebar and the links between pages use it.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { publicLibraries } from './public_libraries.mjs'

const PUBLIC = 'the READMEs of public packages'

/** Sources by section: files of the repository, or folders whose Markdown files are pages, README.md first. */
const SECTIONS = [
  [
    'Guide',
    [
      'getting_started',
      'weights',
      'train',
      'own_models',
      'functional_models',
      'streams',
      'onnx_models',
      'browsers_and_workers',
      'bundling',
      'speed',
      'gpus',
      'cluster',
    ].map((name) => `docs/guide/${name}.md`),
  ],
  ['Migration', ['docs/migration']],
  ['Cookbook', ['docs/cookbook']],
  [
    'Concepts',
    [
      'docs/architecture.md',
      'docs/layers.md',
      'docs/cells.md',
      'docs/ctc.md',
      'docs/streams.md',
      'docs/distributed.md',
      'docs/canonical_layout.md',
      'docs/checkpoint_format.md',
      'docs/numerics.md',
      'docs/reliability.md',
      'docs/cpu_kernels.md',
      'docs/wasm.md',
      'docs/glossary.md',
      'docs/style.md',
    ],
  ],
  [
    'Reference',
    [
      'docs/errors.md',
      'docs/operations.md',
      'docs/optimizer_rules.md',
      'docs/keras_layers.md',
      'docs/troubleshooting.md',
      'docs/where_it_runs.md',
      'docs/browsers.md',
      'docs/tf_compatibility.md',
      'apps/cli/README.md',
      'apps/playground/README.md',
      'docs/examples.md',
      'docs/gpu',
    ],
  ],
  ['Packages', [PUBLIC]],
  ['Benchmarks', ['docs/bench', 'apps/bench/README.md']],
  [
    'Development',
    [
      'CONTRIBUTING.md',
      'SECURITY.md',
      'docs/native_boundary.md',
      'docs/cudnn_command_list.md',
      'docs/persistent_kernels.md',
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
  if (source === PUBLIC) return publicReadmes(root)
  if (source.endsWith('.md')) return [source].filter((file) => title(root, file) !== undefined)
  const files = readdirSync(join(root, source))
    .filter((name) => name.endsWith('.md'))
    .sort((a, b) => Number(b === 'README.md') - Number(a === 'README.md') || a.localeCompare(b))
  return files.map((name) => `${source}/${name}`)
}

function publicReadmes(root) {
  return publicLibraries(root)
    .map(({ name }) => name)
    .sort((a, b) => Number(b === 'rnn') - Number(a === 'rnn') || a.localeCompare(b))
    .map((name) => `packages/${name}/README.md`)
}

function describe(root, source) {
  const page = source.replace(/^docs\//, '').replace(/README\.md$/, 'index.md')
  return { title: title(root, source), source, page }
}

function title(root, source) {
  try {
    const heading = /^# (.*)$/m.exec(readFileSync(join(root, source), 'utf8'))?.[1]
    return heading?.replaceAll('`', '') ?? basename(source)
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}
