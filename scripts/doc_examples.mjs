// The examples of the documentation: ```ts blocks of Markdown files and of `@example` docstrings.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const BLOCK = /^[ \t]*```(?:ts|typescript)\b(?<flags>[^\n]*)\n(?<code>[\s\S]*?)^[ \t]*```/gm

/** Examples of the files: { file, line, code, runs }. A block that opens with "```ts no-run" is only type-checked. */
export function docExamples(root, files) {
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return file.endsWith('.md') ? blocksOf(file, text, 0) : docstringBlocks(file, text)
  })
}

function blocksOf(file, text, lineOffset) {
  return [...text.matchAll(BLOCK)].map(({ index, groups }) => ({
    file,
    line: lineOffset + text.slice(0, index).split('\n').length,
    code: groups.code,
    runs: !groups.flags.includes('no-run'),
  }))
}

function docstringBlocks(file, text) {
  return [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)].flatMap(({ 0: comment, index }) => {
    const plain = comment.replaceAll(/^[ \t]*\* ?/gm, '')
    return blocksOf(file, plain, text.slice(0, index).split('\n').length - 1)
  })
}
