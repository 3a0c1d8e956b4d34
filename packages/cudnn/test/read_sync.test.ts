import type { Backend } from '@cudnn-rnn/ops'
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { describeEmulators } from './describe_emulators.js'

const host = { data: Float32Array.of(1, -2, 3), shape: [3] }

describeEmulators(
  ({ libraries, open }) => {
    beforeEach(() => libraries.configure('reset'))
    afterEach(() => expect(libraries.report().violations).toEqual([]))

    it('readSync returns the values after the calls that were made before', async () => {
      await using backend = await open()
      const x = backend.tensor(host)
      for (let k = 0; k < 5; k++) backend.ops.accumulate(x, host)
      const { data, shape } = backend.readSync(x)
      expect([...data]).toEqual([6, -12, 18])
      expect(shape).toEqual([3])
      expect(await x.read()).toEqual({ data, shape })
      const ids = backend.tensor({ data: Int32Array.of(7, 8), shape: [2] })
      expect(backend.readSync(ids).data).toEqual(Int32Array.of(7, 8))
      expect(backend.readSync(backend.zeros([0])).data).toHaveLength(0)
    })

    it('readSync reads the results of calls recorded in a step so far', async () => {
      await using backend = await open()
      const x = backend.tensor(host)
      for (let step = 1; step <= 4; step++) {
        await backend.steps.run(async () => {
          backend.ops.accumulate(x, host)
          expect(backend.readSync(x).data[0]).toBe(1 + step)
          backend.ops.accumulate(x, host, 0)
        })
      }
    })

    it('readSync refuses other tensors, and those that were disposed', async () => {
      await using backend = await open()
      using reference = openReferenceBackend()
      const read = (tensor: unknown) => () => (backend as Backend).readSync?.(tensor as never)
      expect(read(reference.zeros([1]))).toThrow(coded('ERR_FOREIGN_TENSOR'))
      for (const given of [host, null, undefined, {}]) expect(read(given)).toThrow(coded('ERR_NOT_A_TENSOR'))
      const x = backend.tensor(host)
      x.dispose()
      expect(read(x)).toThrow(coded('ERR_TENSOR_DISPOSED'))
      const y = backend.tensor(host)
      await backend.close()
      expect(read(y)).toThrow(coded('ERR_BACKEND_DISPOSED'))
    })

    it('readSync throws the error of the call that was to write the tensor', async () => {
      await using backend = await open()
      const x = backend.tensor(host)
      libraries.configure('fault.cuLaunchKernel=1@1')
      const y = backend.ops.activate(x, 'tanh')
      expect(() => backend.readSync(y)).toThrow(coded('ERR_CUDA'))
      libraries.configure('reset')
      expect([...backend.readSync(x).data]).toEqual([1, -2, 3])
    })

    it('readSync is refused while another call prepares a shape', async () => {
      await using backend = await open()
      const x = backend.tensor(host)
      const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 2, inputSize: 3 }))
      const input = { data: new Float32Array(3), shape: [1, 1, 3] }
      const params = backend.zeros([rnn.paramsSize])
      const pass = { input, inputH: null, inputC: null, params, sequenceLengths: null, training: false }
      const preparing = rnn.forward(pass)
      expect(() => backend.readSync(x)).toThrow(coded('ERR_EXECUTOR_BUSY'))
      await preparing
      expect([...backend.readSync(x).data]).toEqual([1, -2, 3])
    })
  },
  [9],
)
