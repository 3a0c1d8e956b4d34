// Compiles native/cudnn/kernels by the real NVRTC: node nvrtc.mjs ADDON FOLDER ARCHITECTURES. Its last line is the number of images
// and the problems, as JSON. A separate process, whose memory goes with it.
import { openNvrtc } from '../../build/open_nvrtc.mjs'
import { BLOCK, TYPES } from './kernels.mjs'

/** Cell, type, units, warps and rows of a block. */
const PERSISTENT_SHAPES = [
  [0, 0, 4, 4, 1],
  [1, 1, 8, 4, 8],
  [2, 2, 4, 4, 8],
  [0, 3, 8, 4, 8],
  [1, 4, 8, 4, 8],
  // Eight blocks, which are a cluster if the architecture has them; the last ones divide the columns of the backward.
  [2, 1, 32, 4, 8],
  [0, 2, 32, 8, 8],
]

const [file, folder, ...architectures] = process.argv.slice(2)
const { addon, libraries } = openNvrtc(file, folder)
const source = addon.kernelSource()
const problems = []
let images = 0
for (const type of TYPES) {
  for (const architecture of [...architectures.map((number) => `sm_${number}`), 'compute_75', 'compute_121']) {
    const options = [`--gpu-architecture=${architecture}`, `-DREAL=${type}`, `-DBLOCK=${BLOCK}`, '--split-compile=0']
    try {
      const image = await addon.compileKernels(libraries, source, options)
      if (image.length > 0) images++
    } catch (error) {
      problems.push(`${architecture} ${type}: ${error.message} ${error.detail ?? ''}`)
    }
  }
}
// The persistent kernels of a few shapes: cells, types, and the operations that each architecture has.
const persistent = addon.persistentSource()
for (const architecture of architectures.filter((number) => Number(number) >= 80)) {
  for (const [cell, kind, units, warps, rows] of PERSISTENT_SHAPES) {
    const macros = {
      CELL: cell,
      KIND: kind,
      DIRECTIONS: 1 + (cell % 2),
      HIDDEN: 256,
      UNITS: units,
      WARPS: warps,
      ROWS: rows,
      PASSES: 1 + (kind % 2),
      CLUSTER: Number(architecture) < 90 || units < 32 ? 0 : warps / 4,
    }
    const options = Object.entries(macros).map(([name, value]) => `-D${name}=${value}`)
    try {
      const all = [`--gpu-architecture=sm_${architecture}`, ...options]
      if ((await addon.compileKernels(libraries, persistent, all)).length > 0) images++
    } catch (error) {
      problems.push(`persistent ${architecture} ${options}: ${error.message} ${error.detail ?? ''}`)
    }
  }
}
console.log(JSON.stringify({ images, problems }))
