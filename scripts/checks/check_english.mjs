// Checks the length of paragraphs in pages, and compares how often comments and pages use the words that show a sentence
// translated from another language: "where" for "if", genitives such as "those of", and sentences that begin with the genitive
// of an unnamed subject. Prints the figures; `--list where` prints the places too.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Per 1,000 words; openings in all. A limit with a goal beside it is near the present figure, and only changes toward the
 * goal.
 */
const RULES = [
  { name: 'where', pattern: /\bwhere\b/gi, limits: { comments: { most: 1.5 }, pages: { most: 1 } } },
  // The goal of pages is 3.
  { name: 'if', pattern: /\bif\b/gi, limits: { comments: { least: 3 }, pages: { least: 1.8 } } },
  { name: 'those of', pattern: /\b(?:those|that) of\b/gi, limits: { comments: { most: 0.2 }, pages: { most: 0.3 } } },
  { name: 'openings', pattern: /^(?:Of|Those|As|Where) /g, isCount: true, limits: { comments: { most: 10 } } },
]
const KINDS = {
  comments: { files: /^(?:packages|apps|native|scripts)\/.*\.(?:ts|tsx|mjs|cc|h|cu)$/, texts: commentsOf },
  pages: {
    files:
      /^(?:docs\/(?!bench\/results|decisions).*\.md|README|CONTRIBUTING|(?:packages|apps|native)\/[^/]+\/README)\.?(?:md)?$/,
    texts: (source) => [{ line: 1, text: withoutCode(source).replace(/`[^`\n]*`/g, 'x') }],
  },
}
/** The most characters of a paragraph or an entry of a list in pages; benchmarks write theirs. */
const LONGEST_PARAGRAPH = 600
const [, listed] = process.argv.slice(2)
const options = ['ls-files', '--cached', '--others', '--exclude-standard']
const files = execFileSync('git', options, { cwd: root, encoding: 'utf8' }).split('\n')
let failures = 0

for (const [kind, { files: names, texts }] of Object.entries(KINDS)) {
  const counts = RULES.map(() => 0)
  let words = 0
  for (const file of files.filter((name) => names.test(name) && existsSync(join(root, name)))) {
    for (const { line, text } of texts(readFileSync(join(root, file), 'utf8'))) {
      words += text.split(/\s+/).length
      for (const [index, { name, pattern }] of RULES.entries()) {
        const found = text.match(pattern)?.length ?? 0
        counts[index] += found
        if (found > 0 && name === listed) console.log(`${file}:${line}: ${text.replace(/\s+/g, ' ').slice(0, 200)}`)
      }
    }
  }
  for (const [index, { name, isCount, limits }] of RULES.entries()) {
    const { most = Number.POSITIVE_INFINITY, least = 0 } = limits[kind] ?? {}
    const figure = isCount ? counts[index] : (1000 * counts[index]) / words
    const isMet = figure >= least && figure <= most
    if (!isMet) failures++
    const bound = least > 0 ? `at least ${least}` : `at most ${most}`
    const unit = isCount ? '' : ' in 1,000 words'
    if (limits[kind]) console.log(`${isMet ? 'ok  ' : 'FAIL'} ${kind}: "${name}" ${figure.toFixed(2)}${unit}, ${bound}`)
  }
}
for (const file of files.filter(
  (name) => KINDS.pages.files.test(name) && !name.startsWith('docs/bench/') && existsSync(join(root, name)),
)) {
  const text = withoutCode(readFileSync(join(root, file), 'utf8')).replace(/\]\([^)]*\)/g, ']')
  const long = text
    .split(/\n\s*\n|\n(?=- |\d+\. )/)
    .filter((part) => part.length > LONGEST_PARAGRAPH && !/^\s*\|/.test(part))
  for (const part of long)
    console.log(`FAIL ${file}: ${part.length} characters, at most ${LONGEST_PARAGRAPH}: ${part.trim().slice(0, 60)}…`)
  failures += long.length
}
process.exitCode = failures === 0 ? 0 : 1

function withoutCode(text) {
  return text.replace(/```[\s\S]*?```/g, '')
}

/** The comments of a source, each block of lines as one. */
function commentsOf(source) {
  const comment = /\/\*\*?([\s\S]*?)\*\/|((?:^[ \t]*\/\/[^\n]*\n)+)|(?<=[;,{}() ])\/\/([^\n]*)/gm
  return Array.from(source.matchAll(comment), ({ index, 1: block, 2: lines, 3: end }) => ({
    line: source.slice(0, index).split('\n').length,
    text: withoutCode(block ?? lines ?? end)
      .replace(/^[ \t]*(?:\*|\/\/\/?)[ \t]?/gm, '')
      .trim(),
  }))
}
