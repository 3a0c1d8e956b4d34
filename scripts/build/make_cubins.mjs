// Compiles the kernels of native/cudnn for a release, so that the first open on a machine need not:
//   node scripts/build/make_cubins.mjs [--nvrtc FOLDER] [--architectures 80,90]
// One file per architecture and element type, `cubins/<hash>.br` beside the addon: the SHA-256 of the machine code and the
// code, compressed. The hash is that of source and options, by which KernelCache of packages/cudnn finds it. NVRTC is in
// FOLDER, by default that of the wheels of `npm run test:real-libraries`; without it nothing is made, and machines compile.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { brotliCompressSync, constants } from 'node:zlib'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { openNvrtc } from './open_nvrtc.mjs'
import { CUBINS, thisPlatform } from './platforms.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Turing to Blackwell. The other members of their families, of single boards, compile. */
const ARCHITECTURES = '75,80,86,89,90,100,103,120'
/** Architectures with many units for double. */
const DOUBLE = ['80', '90', '100']
const MOST_BYTES = 1.5 * 2 ** 20

const { values: options } = parseArgs({
  options: {
    nvrtc: { type: 'string', default: wheels() },
    architectures: { type: 'string', default: ARCHITECTURES },
    addon: {
      type: 'string',
      default: join(root, 'native/cudnn/prebuilds', thisPlatform(), 'cudnn_rnn_cudnn.node'),
    },
  },
})

ownTemporaryFolder()

/** NVRTC's folder of the wheels. */
function wheels() {
  const lib = join(root, '.real_libraries/lib')
  const folders = (existsSync(lib) ? readdirSync(lib) : []).map((name) =>
    join(lib, name, 'site-packages/nvidia/cu13/lib'),
  )
  return folders.find(existsSync)
}

if (options.nvrtc === undefined || !existsSync(options.addon)) {
  console.log(`Kernels: not compiled, as ${options.nvrtc === undefined ? 'NVRTC' : options.addon} was not found`)
  process.exit(0)
}
const { addon, libraries } = openNvrtc(options.addon, options.nvrtc)
const source = addon.kernelSource()
const folder = join(dirname(options.addon), CUBINS)
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
let bytes = 0
for (const architecture of options.architectures.split(',')) {
  for (const real of DOUBLE.includes(architecture) ? ['float', 'double'] : ['float']) {
    const texts = [`--gpu-architecture=sm_${architecture}`, `-DREAL=${real}`, '-DBLOCK=256']
    const image = await addon.compileKernels(libraries, source, texts)
    const name = createHash('sha256')
      .update([source, ...texts].join('\0'))
      .digest('hex')
    const file = brotliCompressSync(Buffer.concat([createHash('sha256').update(image).digest(), image]), {
      params: { [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS },
    })
    writeFileSync(join(folder, `${name}.br`), file)
    bytes += file.length
    console.log(`sm_${architecture} ${real}: ${image.length} bytes, ${file.length} compressed`)
  }
}
console.log(`Kernels: ${bytes} bytes compressed, in ${folder}`)
if (bytes > MOST_BYTES) throw new Error(`These are more than ${MOST_BYTES} bytes: too large for a package`)
