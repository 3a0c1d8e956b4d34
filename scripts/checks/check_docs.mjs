// `pnpm run docs`: every example in READMEs, docs and docstrings compiles against the built declarations and runs on the built
// packages; every exported function and class has an example, and every option a comment; docs/errors.md lists every error code of the sources and
// docs/optimizer_rules.md every rule.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import ts from 'typescript'
import { docExamples, unprinted } from './doc_examples.mjs'
import { checkErrorCodes } from './error_codes.mjs'
import { exampleRules } from './example_rules.mjs'
import { exportedCallables } from './exported_values.mjs'
import { checkOptimizerRules } from './optimizer_rules.mjs'
import { undocumentedOptions } from './option_docs.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { filesBelow, publicExports, publicPackages, readJson, sourceOf, workspacePackages } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')
const output = join(root, '.docs-check')
/** Milliseconds for all examples of a process. */
const TIME_LIMIT = 300_000
/** The oldest and the newest `@types/node` of the supported releases of Node.js. */
const NODE_TYPES = ['@types/node', 'node-types-newest']
const layers = readJson(join(root, 'scripts/layers.json'))
const packages = workspacePackages(root, layers)

const files = [
  'README.md',
  'CONTRIBUTING.md',
  ...filesBelow(root, join(root, 'docs'), /\.md$/),
  ...packages.flatMap(({ folder }) => filesBelow(root, folder, /^README\.md$/)),
  ...packages.flatMap(({ folder }) => filesBelow(root, join(folder, 'src'), /\.ts$/)),
]
const examples = docExamples(root, files).map((example, index) => ({ ...example, name: `example_${index}` }))

ownTemporaryFolder()
// Every example runs in a new folder below the temporary one: fixtures are in ../fixtures.
symlinkSync(join(root, 'fixtures'), join(tmpdir(), 'fixtures'), 'junction')
rmSync(output, { recursive: true, force: true })
mkdirSync(join(output, 'node_modules', '@cudnn-rnn'), { recursive: true })
writeFileSync(join(output, 'package.json'), '{ "type": "module" }\n')
for (const { name, code } of examples) writeFileSync(join(output, `${name}.ts`), `${code}\nexport {}\n`)
// Examples import the packages by name, with the dependencies of each, as the program of a user.
for (const { folder, packageName } of packages.filter(({ manifest }) => manifest.exports !== undefined)) {
  symlinkSync(folder, join(output, 'node_modules', packageName), 'junction')
}

const missing = publicEntries().find(({ types }) => !existsSync(types))
if (missing !== undefined) throw new Error(`Cannot check docs as ${missing.types} is not built: npm run build`)
const { failures, count: codes } = checkErrorCodes(root)
failures.push(...(await checkOptimizerRules(root)))
failures.push(...new Set(NODE_TYPES.flatMap((nodeTypes) => typeErrors(exampleProgram(nodeTypes)))))
failures.push(...exampleRules(examples, publicEntries()))
const callables = exportedCallables(sourceEntries())
const withoutExample = callables
  .filter(({ entry, hasExample }) => !hasExample && entry !== '@cudnn-rnn/cudnn/validation') // For apps/gpu_validation alone.
  .map(({ entry, name, place }) => `${place}: ${name} of ${entry} has no @example in its docstring`)
failures.push(...withoutExample)
const withoutComment = undocumentedOptions(publicEntries()).map(
  ({ entry, type, field }) => `${entry}: ${field} of ${type} has no doc comment in the declarations`,
)
failures.push(...withoutComment)
const running = examples.filter(({ runs }) => runs)
if (failures.length === withoutExample.length + withoutComment.length) {
  await compile(running)
  failures.push(...run(running))
}

for (const failure of failures) console.error(failure)
console.log(
  `Docs: ${examples.length} examples compiled, ${running.length} run, ${callables.length} exported functions and classes, ${codes} error codes, ${failures.length} failures`,
)
process.exitCode = failures.length === 0 ? 0 : 1

/** Entry points of public packages: { entry, types, source }, `entry` as it is imported. */
function publicEntries() {
  return publicPackages(root, layers).flatMap(({ folder, packageName, ...each }) =>
    publicExports(each, layers)
      .filter(([, conditions]) => conditions.import?.types !== undefined)
      .map(([entry, conditions]) => ({
        entry: `${packageName}${entry.slice(1)}`,
        types: join(folder, conditions.import.types),
        source: sourceOf(folder, entry),
      })),
  )
}

/** The entries that hold docstrings. Entries that only a build makes export the names of others. */
function sourceEntries() {
  return publicEntries().filter(({ source }) => source !== undefined)
}

/**
 * The examples under the configuration that `tsc --init` writes, with the types of one release of Node.js: a folder of
 * node_modules. The types of the DOM are the configuration's default.
 */
function exampleProgram(nodeTypes) {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.examples.json'), ts.sys.readFile)
  const typeRoot = join(output, 'types', nodeTypes)
  mkdirSync(typeRoot, { recursive: true })
  symlinkSync(join(root, 'node_modules', nodeTypes), join(typeRoot, 'node'), 'junction')
  Object.assign(config.compilerOptions, { noEmit: true, types: ['node'], typeRoots: [typeRoot] })
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, output)
  return ts.createProgram(
    examples.map(({ name }) => join(output, `${name}.ts`)),
    options,
  )
}

function typeErrors(program) {
  return examples.flatMap(({ name, file, line }) => {
    const source = program.getSourceFile(join(output, `${name}.ts`))
    const diagnostics = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    return diagnostics.map(({ start, code, messageText }) => {
      const at = line + source.getLineAndCharacterOfPosition(start ?? 0).line + 1
      return `${file}:${at}: TS${code}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
    })
  })
}

/** Like JavaScript. Published packages stay imports of their builds; private ones have none and are bundled. */
async function compile(running) {
  await build({
    entryPoints: running.map(({ name }) => join(output, `${name}.ts`)),
    outdir: output,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    // The example as it stands, without its types: what Node.js lacks is an error.
    target: 'esnext',
    alias: Object.fromEntries(
      packages
        .filter(({ manifest }) => typeof manifest.exports?.['.'] === 'string')
        .map(({ packageName, folder, manifest }) => [packageName, join(folder, manifest.exports['.'])]),
    ),
    logLevel: 'error',
  })
}

/** Runs the examples in one process; after one that ends it, the rest in another. */
function run(running) {
  const failures = []
  let left = running
  while (left.length > 0) {
    const results = join(output, `results_${left.length}.jsonl`)
    writeFileSync(results, '')
    const runner = join(root, 'scripts/checks/doc_example_runner.mjs')
    const names = left.map(({ name }) => name)
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, [runner, results, output, ...names], {
      encoding: 'utf8',
      timeout: TIME_LIMIT,
    })
    const done = readFileSync(results, 'utf8')
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    for (const [index, { lines, error }] of done.entries()) {
      const { file, line, prints } = left[index]
      const comment = error === undefined ? unprinted(prints, lines) : undefined
      const problem = error ?? (comment === undefined ? undefined : `it does not print "${comment}"`)
      if (problem !== undefined) failures.push(`${file}:${line}: the example fails: ${problem}\n${lines.join('\n')}`)
    }
    const ended = left[done.length]
    const how = `exit status ${status ?? signal}\n${stdout}${stderr}`
    if (ended !== undefined) failures.push(`${ended.file}:${ended.line}: the example ends the process: ${how}`)
    else if (status !== 0) failures.push(`An example leaves something open, or fails after its end: ${how}`)
    left = left.slice(done.length + 1)
  }
  return failures
}
