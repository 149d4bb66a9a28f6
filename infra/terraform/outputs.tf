output "outputs" {
  description = "Outputs of the stack by name, such as ApiUrl, TableName and UserPoolId."
  value       = aws_cloudformation_stack.aptix.outputs
}

output "api_url" {
  description = "Base URL of the API."
  value       = aws_cloudformation_stack.aptix.outputs["ApiUrl"]
}
