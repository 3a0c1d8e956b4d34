// The examples of the documentation: ```ts blocks of Markdown files and of docstrings.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const BLOCK = /^[ \t]*```(?:ts|typescript)\b(?<flags>[^\n]*)\n(?<code>[\s\S]*?)^[ \t]*```/gm
const PRINTED = /^[ \t]*console\.log\(.*\)[ \t]*(?:\n[ \t]*)?\/\/[ \t]*(?<text>.+)$/gm

/**
 * Examples of the files: { file, line, code, runs, prints }. A block that opens with "```ts no-run" is only type-checked.
 * `prints` are the comments after its calls of console.log, on the same line or the next: the output.
 */
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
    prints: [...groups.code.matchAll(PRINTED)].map(({ groups }) => groups.text.trim()),
  }))
}

function docstringBlocks(file, text) {
  return [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)].flatMap(({ 0: comment, index }) => {
    const plain = comment.replaceAll(/^[ \t]*\* ?/gm, '')
    return blocksOf(file, plain, text.slice(0, index).split('\n').length - 1)
  })
}

/**
 * The first comment that no line of the output answers, or undefined. Comments are answered in their order; a comment is a
 * printed line, which a colon and an explanation may follow. Spaces within brackets and names of typed arrays do not count.
 */
export function unprinted(prints, lines) {
  const printed = lines.map(plainly)
  let next = 0
  return prints.find((comment) => {
    const answer = printed.findIndex((line, index) => index >= next && answers(plainly(comment), line))
    if (answer >= 0) next = answer + 1
    return answer < 0
  })
}

const answers = (comment, line) => comment === line || (line !== '' && comment.startsWith(`${line}:`))

const plainly = (text) =>
  text
    .replaceAll(/\w+Array\(\d+\) (?=\[)/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(?<=[[{(]) | (?=[\]})])/g, '')
    .trim()
