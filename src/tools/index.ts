// The public interface of tools/: the gateway's tools for agents, and how agents access them.

export { createTools, type ToolPorts } from './all-tools.ts'
export { createCalls } from './call-files.ts'
export { createEquipment, createToolServer } from './tool-server.ts'
