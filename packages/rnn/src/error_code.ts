import type { BackendErrorCode } from '@cudnn-rnn/ops'
import type { CanonicalErrorCode } from '@cudnn-rnn/canonical'
import type { CellErrorCode } from '@cudnn-rnn/cells'
import type { CheckpointErrorCode } from '@cudnn-rnn/checkpoint'
import type { CpuErrorCode } from '@cudnn-rnn/cpu'
import type { CtcErrorCode } from '@cudnn-rnn/train/ctc'
import type { CudnnErrorCode } from '@cudnn-rnn/cudnn'
import type { DistributedErrorCode } from '@cudnn-rnn/distributed'
import type { ExecutorErrorCode } from '@cudnn-rnn/ops/executor'
import type { GraphsErrorCode } from '@cudnn-rnn/graphs'
import type { InteropErrorCode } from '@cudnn-rnn/interop'
import type { LayersErrorCode } from '@cudnn-rnn/layers'
import type { ModelErrorCode } from '@cudnn-rnn/models'
import type { SaveableErrorCode } from '@cudnn-rnn/saveable'
import type { TasksErrorCode } from '@cudnn-rnn/layers/tasks'
import type { TrainErrorCode } from '@cudnn-rnn/train'
import type { WasmErrorCode } from '@cudnn-rnn/wasm'
import type { FacadeErrorCode } from './error_codes.js'

/** The code of any error that the library throws: docs/errors.md has their meanings. */
export type ErrorCode =
  | BackendErrorCode
  | CanonicalErrorCode
  | CellErrorCode
  | CheckpointErrorCode
  | CpuErrorCode
  | CtcErrorCode
  | CudnnErrorCode
  | DistributedErrorCode
  | ExecutorErrorCode
  | FacadeErrorCode
  | GraphsErrorCode
  | InteropErrorCode
  | LayersErrorCode
  | ModelErrorCode
  | SaveableErrorCode
  | TasksErrorCode
  | TrainErrorCode
  | WasmErrorCode
