variable "name" {
  description = "Name of the stack, of its dashboard, and of its metrics' namespace."
  type        = string
  default     = "agent-backend"

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9-]{0,127}$", var.name))
    error_message = "A name has up to 128 letters, digits and hyphens, and begins with a letter."
  }
}

variable "dist" {
  description = "Folder that scripts/zips wrote, such as target/dist."
  type        = string
}

variable "code_bucket" {
  description = "Existing bucket in the stack's region that receives the zips and the template."
  type        = string
}

variable "code_prefix" {
  description = "Start of their keys, such as aptix/."
  type        = string
  default     = ""
}

variable "parameters" {
  description = "Parameters of template.yaml by name. Lists are texts with commas. Those without a default are required."
  type        = map(string)

  validation {
    condition     = alltrue([for name in keys(var.parameters) : name != "CodeBucket" && !endswith(name, "Code")])
    error_message = "The module sets CodeBucket and the keys of the zips itself. Leave them out."
  }
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = { Application = "aptix" }
}
