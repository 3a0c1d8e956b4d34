// Compiles native/cudnn/kernels by nvcc for architectures and both element types.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const ARCHITECTURES = [75, 80, 86, 89, 90, 100, 103, 110, 120, 121]
export const H200 = 90
/** The oldest, the newest, and the H200's. */
export const FEW_ARCHITECTURES = [75, H200, 121]
export const TYPES = ['float', 'double']
export const BLOCK = 256

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
