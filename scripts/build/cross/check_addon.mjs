// Checks an addon before anyone loads it, by LLVM's tools: its names, libraries, oldest system and signature.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { EXPORTS, headers, MACOS, muslStubs, run, TARGETS } from './targets.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))
/** The oldest glibc that Node.js 20 runs on. */
const GLIBC = '2.28'
/** libgcc_s, which Node.js needs itself, of GCC 7. */
const ELSE = { GCC: '7.0.0' }
/** DLLs of every Windows since 8. */
const DLLS = /^(node\.exe|KERNEL32\.dll|msvcrt\.dll|api-ms-win-core-synch-.*\.dll)$/i
const NAMES = {
  elf: { x86_64: 'elf64-x86-64', aarch64: 'elf64-littleaarch64' },
  'mach-o': { x86_64: 'Mach-O 64-bit x86-64', aarch64: 'Mach-O arm64' },
  coff: { x86_64: 'COFF-x86-64', aarch64: 'COFF-ARM64' },
}

const lines = (text) => text.split('\n').flatMap((line) => line.trim() || [])
const read = (file, ...options) => run('llvm-readobj-19', [...options, file])
const symbols = (file, ...options) => lines(run('llvm-nm-19', [...options, file]))
const numbers = (version) => version.split('.').map(Number)
export const isNewer = (a, b) => {
  const [x, y] = [numbers(a), numbers(b)]
  const at = x.findIndex((part, index) => part !== (y[index] ?? 0))
  return at !== -1 && x[at] > (y[at] ?? 0)
}

/** Names of the C++ library and of its runtime: none of them has a part of the addon's own. */
const OF_CPP = /^(?!.*(cudnn_rnn|Napi))(_Z|__cxa_|__gxx_|_Unwind_)/

/** The problems of an addon, in words; `isUnoptimized` as it was built. */
export function checkAddon(platform, file, isUnoptimized = false) {
  const { arch, format } = TARGETS[platform]
  const actual = /Format: (.*)/.exec(read(file, '--file-headers'))?.[1]
  if (actual !== NAMES[format][arch]) return [`its format is ${actual}`]
  const { exported, imported, problems } = FORMATS[format](file, platform)
  const { v9 } = headers().symbols
  const nodeApi = new Set([...v9.js_native_api_symbols, ...v9.node_api_symbols])
  const text = readFileSync(file, 'latin1')
  return [
    ...problems,
    ...exported.filter((name) => !EXPORTS.includes(name)).map((name) => `exports ${name}`),
    ...EXPORTS.filter((name) => !exported.includes(name)).map((name) => `lacks ${name}`),
    ...imported
      .filter((name) => !nodeApi.has(name) && !(isUnoptimized && OF_CPP.test(name)))
      .map((name) => `needs ${name}, which nothing has`),
    ...[root, tmpdir()].filter((path) => text.includes(path)).map((path) => `names ${path}`),
  ]
}

/** By format: the names it exports, the names it imports that no library of the system has, and its other problems. */
const FORMATS = {
  elf(file, platform) {
    const libraries = lines(read(file, '--needed-libs')).filter((line) => /\.so|^libc/.test(line))
    const needed = symbols(file, '-D', '--undefined-only', '--format=posix').map((line) => line.split(' '))
    const names = needed.flatMap(([name, kind]) => (kind === 'w' ? [] : name))
    const musl = platform.endsWith('musl')
    const stubs = musl ? muslStubs() : undefined
    const versions = names.flatMap((name) => /@+(\w+?)_([\d.]+)$/.exec(name)?.slice(1) ?? []).join(' ')
    const newer = [...versions.matchAll(/([A-Z]+) ([\d.]+)/g)].filter(([, library, version]) =>
      isNewer(version, library === 'GLIBC' ? GLIBC : (ELSE[library] ?? '0')),
    )
    const allowed = musl ? /^libc\.so$/ : /^(lib(c|m|dl|pthread|rt|gcc_s)\.so\.\d|ld-linux-\S+)$/
    return {
      exported: symbols(file, '-D', '--defined-only', '--format=just-symbols').map((name) => name.replace(/@.*/, '')),
      imported: names.filter((name) => !name.includes('@') && !stubs?.has(name)),
      problems: [
        ...libraries.filter((name) => !allowed.test(name)).map((name) => `needs ${name}`),
        ...newer.map(([text]) => `needs ${text}`),
      ],
    }
  },
  'mach-o'(file) {
    const unbound = symbols(file, '-m', '--undefined-only').flatMap((line) =>
      line.endsWith('(from libSystem)') ? [] : (/ external _(\S+)/.exec(line)?.[1] ?? line),
    )
    const oldest = /Version: (.*)/.exec(read(file, '--macho-version-min'))?.[1]
    return {
      exported: symbols(file, '-g', '--defined-only', '--format=just-symbols').map((name) => name.slice(1)),
      imported: unbound,
      problems: [
        ...(oldest === MACOS ? [] : [`its oldest macOS is ${oldest}`]),
        ...signatureProblems(readFileSync(file)),
      ],
    }
  },
  coff(file) {
    const imports = read(file, '--coff-imports')
    const parts = imports.split(/^(?=(?:Delay)?Import \{)/m).filter((part) => /Import \{/.test(part))
    const names = parts.map((part) => /Name: (.*)/.exec(part)[1])
    const ofNode = parts.filter((part) => /Name: node\.exe/.test(part))
    return {
      exported: [...read(file, '--coff-exports').matchAll(/Name: (.*)/g)].map(([, name]) => name),
      imported: ofNode.flatMap((part) => [...part.matchAll(/Symbol: (\w+)/g)].map(([, name]) => name)),
      problems: [
        ...names.filter((name) => !DLLS.test(name)).map((name) => `needs ${name}, which Windows may lack`),
        // Otherwise a program of another name, such as Electron, cannot load it.
        ...(ofNode.every((part) => part.startsWith('Delay')) ? [] : ['node.exe is not loaded late']),
      ],
    }
  },
}

/** A signature holds the hash of each page before it: macOS kills a process that loads other bytes. */
function signatureProblems(bytes) {
  const commands = bytes.readUInt32LE(16)
  let at = 32
  let signature
  for (let k = 0; k < commands; k++, at += bytes.readUInt32LE(at + 4))
    if (bytes.readUInt32LE(at) === 0x1d) signature = bytes.readUInt32LE(at + 8)
  if (signature === undefined) return ['it has no signature']
  const blob = bytes.subarray(signature)
  const directory = blob.subarray(blob.readUInt32BE(16))
  if (blob.readUInt32BE(0) !== 0xfade0cc0 || directory.readUInt32BE(0) !== 0xfade0c02)
    return ['its signature is unknown']
  const [hashes, pages, limit] = [16, 28, 32].map((offset) => directory.readUInt32BE(offset))
  const [size, page] = [directory[36], 2 ** directory[39]]
  if (limit !== signature) return [`its signature ends at ${limit}, not at ${signature}`]
  const wrong = Array.from({ length: pages }, (_, k) => k).filter((k) => {
    const hash = createHash('sha256')
      .update(bytes.subarray(k * page, Math.min((k + 1) * page, limit)))
      .digest()
    return !hash.subarray(0, size).equals(directory.subarray(hashes + k * size, hashes + (k + 1) * size))
  })
  return wrong.length === 0 && pages === Math.ceil(limit / page) ? [] : [`${wrong.length} pages have another signature`]
}
