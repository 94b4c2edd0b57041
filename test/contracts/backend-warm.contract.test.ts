// Backends that stay up between turns: the same promises as those that do not.
import { holdBackends } from './backend.suite.ts'

holdBackends('warm')
