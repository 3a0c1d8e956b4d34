import { join } from 'node:path'
import { publicExports, readJson } from '../../scripts/workspace.mjs'
import { publicLibraries } from './public_libraries.mjs'

/** The first page of the API reference: the public packages with their descriptions, the facade first. */
export function apiIndex(root) {
  const layers = readJson(join(root, 'scripts/layers.json'))
  const packages = publicLibraries(root).sort(
    ({ packageName: a }, { packageName: b }) => Number(b === FACADE) - Number(a === FACADE) || a.localeCompare(b),
  )
  const rows = packages.flatMap(({ packageName, ...each }) => [
    `| [\`${packageName}\`](${packageName}/index.md) | ${each.manifest.description} |`,
    ...ownEntries(packageName, publicExports(each, layers)).map(
      (entry) => `| [\`${entry}\`](${entry}/index.md) | a further entry of \`${packageName}\` |`,
    ),
  ])
  return `# API reference

Every public name of the published packages, from the docstrings of the sources. \`${FACADE}\` is enough for most programs; its subpaths, such as \`${FACADE}/train\`, are the same modules as the packages or entries of that name. Errors have codes: [error index](../errors.md).

| package | content |
|---|---|
${rows.join('\n')}
`
}

const FACADE = '@cudnn-rnn/rnn'

/** Entries of code beside the main one; entries of the facade, except its report, are other packages. */
function ownEntries(name, exports) {
  return exports
    .filter(
      ([entry, target]) => entry !== '.' && typeof target === 'object' && (name !== FACADE || entry === './report'),
    )
    .map(([entry]) => `${name}/${entry.slice(2)}`)
}
