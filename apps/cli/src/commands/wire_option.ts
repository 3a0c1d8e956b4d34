import { Option } from 'commander'

/** Has no effect on one process. */
export const wireOption = () =>
  new Option('--wire <type>', 'sum the gradients of several ranks in half the bytes').choices(['bfloat16'])
