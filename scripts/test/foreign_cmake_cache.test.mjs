import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeForeignBuild } from '../build/foreign_cmake_cache.mjs'

/** A project without a compiler, whose build copies a file. */
const PROJECT = `cmake_minimum_required(VERSION 3.20)
project(copied NONE)
add_custom_target(copy ALL COMMAND \${CMAKE_COMMAND} -E copy \${CMAKE_SOURCE_DIR}/text.txt \${CMAKE_BINARY_DIR}/text.txt)
`

describe.skipIf(spawnSync('cmake', ['--version']).status !== 0)('removeForeignBuild', () => {
  let root
  const cmake = (...args) => expect(spawnSync('cmake', args, { encoding: 'utf8' })).toMatchObject({ status: 0 })
  const build = (clone) => join(root, clone, 'build/release')
  const textOf = (clone) => readFileSync(join(build(clone), 'text.txt'), 'utf8')

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'clones-'))
    for (const clone of ['first', 'second']) {
      mkdirSync(join(root, clone))
      writeFileSync(join(root, clone, 'CMakeLists.txt'), PROJECT)
      writeFileSync(join(root, clone, 'text.txt'), clone)
    }
    cmake('-S', join(root, 'first'), '-B', build('first'))
    cmake('--build', build('first'))
  })
  afterEach(() => rmSync(root, { recursive: true }))

  it('removes a copied build, which would compile the sources that it was made for', () => {
    cpSync(join(root, 'first/build'), join(root, 'second/build'), { recursive: true })
    rmSync(join(build('second'), 'text.txt'))
    expect(removeForeignBuild(build('second'), join(root, 'second'))).toBe(true)
    expect(existsSync(build('second'))).toBe(false)
    cmake('-S', join(root, 'second'), '-B', build('second'))
    cmake('--build', build('second'))
    expect(textOf('second')).toBe('second')
  })

  it('removes a build whose folder was removed', () => {
    cpSync(join(root, 'first/build'), join(root, 'second/build'), { recursive: true })
    rmSync(join(root, 'first'), { recursive: true })
    expect(removeForeignBuild(build('second'), join(root, 'second'))).toBe(true)
  })

  it('keeps a build of the folder, also where a link leads to it', () => {
    symlinkSync(join(root, 'first'), join(root, 'link'))
    expect(removeForeignBuild(build('first'), join(root, 'first'))).toBe(false)
    expect(removeForeignBuild(build('link'), join(root, 'link'))).toBe(false)
    expect(textOf('first')).toBe('first')
  })

  it('leaves a folder alone that was not configured', () => {
    expect(removeForeignBuild(build('second'), join(root, 'second'))).toBe(false)
  })
})
