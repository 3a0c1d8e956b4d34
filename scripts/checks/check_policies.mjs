// Opens executors in pages with and without cross-origin isolation and under Content-Security-Policies:
//   node scripts/checks/check_policies.mjs
// Build first: npm run build.
import { bundlePage, ISOLATED, withChromium } from '../testing/browser_page.mjs'

const PROGRAM = `
import { openBackend } from './dist/index.js'

async function attempt(name) {
  try {
    const backend = await openBackend(name, { threads: 2 })
    const product = backend.ops.linear(
      { data: Float32Array.of(1, 2), shape: [1, 2] },
      { data: Float32Array.of(3, 4), shape: [2, 1] },
      backend.zeros([1]),
    )
    return [backend.name, (await product.read()).data[0], backend.reason].join(' ')
  } catch (error) {
    return [error.code, error.advice].join(' ')
  }
}
console.log(JSON.stringify([await attempt('wasm'), await attempt('auto')]))
`

const policy = (value) => ({ 'content-security-policy': value })
/** Headers of the page, and patterns of the results of 'wasm' and 'auto'. */
const CASES = [
  ['an isolated page', ISOLATED, /^wasm 11 .*, 2 threads$/, /^wasm 11 .*, 2 threads /],
  ['a page that is not isolated', {}, /, 1 thread \(the page is not cross-origin isolated\)$/, /^wasm 11 /],
  [
    'a policy that allows everything that is needed',
    { ...ISOLATED, ...policy("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src blob:") },
    /^wasm 11 .*, 2 threads$/,
    /^wasm 11 /,
  ],
  [
    'a policy without workers',
    { ...ISOLATED, ...policy("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'") },
    /^wasm 11 .*, 1 thread \(workers do not start: .*worker-src/,
    /^wasm 11 /,
  ],
  [
    'a policy without WebAssembly',
    policy("default-src 'none'; script-src 'self'"),
    /^ERR_BACKEND_UNAVAILABLE .*'wasm-unsafe-eval'/,
    /^reference 11 .*this page may not compile WebAssembly/s,
  ],
]

const failures = await withChromium(async (report) => {
  const files = await bundlePage(PROGRAM)
  let failures = 0
  for (const [name, headers, ...patterns] of CASES) {
    const results = await report(files, headers)
    for (const [index, pattern] of patterns.entries()) {
      if (pattern.test(results[index])) continue
      failures++
      console.error(`${name}: expected ${pattern}\n     got ${results[index]}`)
    }
  }
  console.log(`Policies: ${CASES.length} pages, ${failures} failures`)
  return failures
})
process.exitCode = failures ? 1 : 0
