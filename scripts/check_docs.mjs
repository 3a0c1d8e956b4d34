// `pnpm run docs`: every example in READMEs, docs and docstrings compiles against the sources and runs,
// docs/errors.md lists every error code of the sources, and docs/optimizer_rules.md every rule.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { docExamples } from './doc_examples.mjs'
import { checkErrorCodes } from './error_codes.mjs'
import { checkOptimizerRules } from './optimizer_rules.mjs'
import ownTemporaryFolder from './temporary_folder.mjs'
import { filesBelow, readJson, workspacePackages } from './workspace.mjs'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/[\\/]$/, '')
const output = join(root, '.docs-check')
const packages = workspacePackages(root, readJson(join(root, 'scripts/layers.json')))

const files = [
  'README.md',
  'CONTRIBUTING.md',
  ...filesBelow(root, join(root, 'docs'), /\.md$/),
  ...packages.flatMap(({ folder }) => filesBelow(root, folder, /^README\.md$/)),
  ...packages.flatMap(({ folder }) => filesBelow(root, join(folder, 'src'), /\.ts$/)),
]
const examples = docExamples(root, files).map((example, index) => ({ ...example, name: `example_${index}` }))

process.on('exit', ownTemporaryFolder())
rmSync(output, { recursive: true, force: true })
mkdirSync(output)
for (const { name, code } of examples) writeFileSync(join(output, `${name}.ts`), `${code}\nexport {}\n`)
writeFileSync(join(output, 'package.json'), '{ "type": "module" }\n')
writeFileSync(
  join(output, 'tsconfig.json'),
  JSON.stringify({
    extends: '../tsconfig.base.json',
    // Examples are written for readers: they index arrays without saying that something is there.
    compilerOptions: { composite: false, noEmit: true, noUncheckedIndexedAccess: false, types: ['node'] },
    // Sources are compiled with the examples, so the declarations that they use are there.
    include: ['*.ts', '../packages/*/src/**/*.d.ts'],
  }),
)

const where = (message) =>
  message.replaceAll(/(?:\.docs-check\/)?(example_\d+)\.ts\((\d+)/g, (_, name, line) => {
    const example = examples.find((candidate) => candidate.name === name)
    return `${example.file}:${example.line + Number(line)} (`
  })

const { failures, count: codes } = await checkErrorCodes(root)
failures.push(...(await checkOptimizerRules(root)))
const types = spawnSync('tsc', ['--project', output], {
  cwd: root,
  encoding: 'utf8',
  shell: process.platform === 'win32',
})
if (types.status !== 0) failures.push(where(types.stdout))

/** Every entry point of every package, from its source; entries that only a build makes are not here. */
const alias = Object.fromEntries(
  packages.flatMap(({ packageName, folder, manifest }) =>
    Object.keys(manifest.exports ?? {})
      .map((entry) => [
        `${packageName}${entry.slice(1)}`,
        join(folder, `src/${entry === '.' ? 'index' : entry.slice(2)}.ts`),
      ])
      .filter(([, source]) => existsSync(source)),
  ),
)
const running = examples.filter(({ runs }) => runs)
if (failures.length === 0) {
  await build({
    entryPoints: running.map(({ name }) => join(output, `${name}.ts`)),
    // As deep as a package's dist: there loaders look for addons that were built here.
    outdir: join(output, 'run', 'bundles'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    alias,
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)",
    },
    logLevel: 'error',
  })
  for (const { name, file, line } of running) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(output, 'run', 'bundles', `${name}.mjs`)], {
      cwd: output,
      encoding: 'utf8',
      timeout: 60_000,
    })
    if (status !== 0) failures.push(`${file}:${line}: the example fails\n${stdout}${stderr}`)
  }
}

for (const failure of failures) console.error(failure)
console.log(
  `Docs: ${examples.length} examples compiled, ${running.length} run, ${codes} error codes, ${failures.length} failures`,
)
process.exitCode = failures.length === 0 ? 0 : 1
