/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_STACK: {
    meaning: 'networks cannot be layers of one stack',
    remedy: 'the message names the size or option that differs',
  },
  ERR_WEIGHTS_AMBIGUOUS: {
    meaning:
      'a weight file can be read in more than one way; `interpretations` shows them, `decidedBy` names the options',
    remedy:
      'name one: `{ cellMode }`, `{ convention }`, `{ direction }`; on the command line `--cell`, `--as`, `--direction`',
  },
  ERR_WEIGHTS_CORRUPT: {
    meaning: 'a weight file is truncated, corrupt or inconsistent',
    remedy: 'download it again',
  },
  ERR_WEIGHTS_FORMAT: {
    meaning: 'a file is of no known weight format',
    remedy: '`WEIGHT_FORMATS` lists the formats',
  },
  ERR_WEIGHTS_IO: {
    meaning: 'the system refused to read or write a weight file',
    remedy: "look at `cause`: permissions, a directory in the file's place, a path too long",
  },
  ERR_WEIGHTS_NOT_FOUND: {
    meaning:
      'no weight file is at that path, a file that it names is missing, or it has no network or tensor of that name',
    remedy: 'check the path and the name; keep external data beside the file',
  },
  ERR_WEIGHTS_OTHER_FUNCTION: {
    meaning: 'a network has a function that no model or cell computes',
    remedy: 'train it again in a form that both have',
  },
  ERR_WEIGHTS_PICKLE: {
    meaning: 'a `.pt` file is a TorchScript archive, or not as `torch.save` writes; nothing was executed',
    remedy: 'save the `state_dict`, or safetensors',
  },
  ERR_WEIGHTS_UNRECOGNIZED: {
    meaning: 'a weight file seems to have a recurrent network, under names or in a layout that no reading has',
    remedy: 'rename the tensors that the message lists, or name the networks to import by `{ only }`',
  },
  ERR_WEIGHTS_UNSUPPORTED: {
    meaning: 'a legal file that is not supported; the message names an alternative',
    remedy: 'give a path in place of bytes, or save in another format',
  },
} as const

/** Codes of the errors that this package defines. */
export type InteropErrorCode = keyof typeof ERROR_CODES
