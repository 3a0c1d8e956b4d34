// Compiles native/cudnn/kernels by the real NVRTC and by nvcc for architectures and both element types.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const ARCHITECTURES = [75, 80, 86, 89, 90, 100, 103, 110, 120, 121]
/** The oldest, the newest, and that of the H200. */
export const FEW_ARCHITECTURES = [75, 90, 121]
const TYPES = ['float', 'double']
const BLOCK = 256

/** Compiles by NVRTC: the number of images, and errors. */
export async function compileByNvrtc({ addon, folder, architectures }) {
  const nvrtc = join(
    folder,
    readdirSync(folder).find((name) => /^libnvrtc\.so\.\d+$/.test(name)),
  )
  // Its built-ins are looked for by bare name only.
  for (const name of readdirSync(folder))
    if (name.startsWith('libnvrtc-builtins')) addon.openLibrary(join(folder, name))
  addon.openLibrary(nvrtc)
  const { libraries, missing } = addon.bindLibraries({ nvrtc })
  if (libraries === null) return { images: 0, problems: [`symbols are missing: ${missing.join(', ')}`] }
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
  return { images, problems }
}

/** Compiles by nvcc, which reports registers and spills. */
export function compileByNvcc({ nvcc, files, build, architectures }) {
  const file = join(build, 'kernels.cu')
  writeFileSync(file, files.map((each) => readFileSync(each, 'utf8')).join('\n'))
  const problems = []
  const usage = []
  for (const type of TYPES) {
    for (const architecture of architectures) {
      const output = join(build, `${type}_${architecture}.cubin`)
      const options = [`-arch=sm_${architecture}`, '-cubin', '-Xptxas', '-v', `-DREAL=${type}`, `-DBLOCK=${BLOCK}`]
      const { status, stderr, stdout } = spawnSync(nvcc, [...options, '-o', output, file], { encoding: 'utf8' })
      const text = `${stdout}${stderr}`
      if (status !== 0) {
        problems.push(`sm_${architecture} ${type}: ${text.slice(0, 500)}`)
        continue
      }
      const numbers = (pattern) => [...text.matchAll(pattern)].map(([, number]) => Number(number))
      const spills = numbers(/(\d+) bytes spill (?:stores|loads)/g).reduce((sum, number) => sum + number, 0)
      const stack = Math.max(...numbers(/(\d+) bytes stack frame/g))
      if (/warning/i.test(text)) problems.push(`sm_${architecture} ${type}: ${/.*warning.*/i.exec(text)[0]}`)
      usage.push({ architecture, type, registers: Math.max(...numbers(/Used (\d+) registers/g)), spills, stack })
    }
  }
  return { usage, problems }
}
