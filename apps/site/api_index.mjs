import { publicLibraries } from './public_libraries.mjs'

/** The first page of the API reference: the public packages with their descriptions, the facade first. */
export function apiIndex(root) {
  const packages = publicLibraries(root)
    .map(({ manifest }) => manifest)
    .sort((a, b) => Number(b.name === FACADE) - Number(a.name === FACADE) || a.name.localeCompare(b.name))
  const rows = packages.flatMap(({ name, description, exports }) => [
    `| [\`${name}\`](${name}/index.md) | ${description} |`,
    ...ownEntries(name, exports).map(
      (entry) => `| [\`${entry}\`](${entry}/index.md) | a further entry of \`${name}\` |`,
    ),
  ])
  return `# API reference

Every public name of the published packages, from the docstrings of the sources. \`${FACADE}\` is enough for most programs; its subpaths, such as \`${FACADE}/train\`, are the same modules as the packages of that name. Errors have codes: [error index](../errors.md).

| package | content |
|---|---|
${rows.join('\n')}
`
}

const FACADE = '@cudnn-rnn/rnn'

/** Entries of code beside the main one; those of the facade are other packages. */
function ownEntries(name, exports) {
  if (name === FACADE) return []
  return Object.keys(exports)
    .filter((entry) => !['.', './package.json', './internal'].includes(entry) && !entry.endsWith('.wasm'))
    .map((entry) => `${name}/${entry.slice(2)}`)
}
